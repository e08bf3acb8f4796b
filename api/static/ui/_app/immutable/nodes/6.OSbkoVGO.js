import{_ as m}from"../chunks/QzVirR7l.js";export{m as component};
