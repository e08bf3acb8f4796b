import{_ as m}from"../chunks/zEVDG8qR.js";export{m as component};
