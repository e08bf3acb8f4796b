import{_ as m}from"../chunks/-tWBUp0l.js";export{m as component};
