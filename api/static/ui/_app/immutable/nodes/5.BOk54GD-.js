import{_ as m}from"../chunks/CV9Ch33r.js";export{m as component};
