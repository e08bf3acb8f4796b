import{_ as m}from"../chunks/CzoXYOj-.js";export{m as component};
