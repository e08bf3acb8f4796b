import{a as e}from"../chunks/DaCKiRbc.js";export{e as component};
