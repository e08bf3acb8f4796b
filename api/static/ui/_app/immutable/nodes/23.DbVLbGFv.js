import{_ as m}from"../chunks/DaCKiRbc.js";export{m as component};
