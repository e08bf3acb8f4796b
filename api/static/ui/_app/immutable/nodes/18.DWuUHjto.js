import{_ as m}from"../chunks/B8hK6Ab_.js";export{m as component};
