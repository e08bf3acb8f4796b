import{a as e}from"../chunks/B8hK6Ab_.js";export{e as component};
