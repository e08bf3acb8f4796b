import{a as e}from"../chunks/CzoXYOj-.js";export{e as component};
