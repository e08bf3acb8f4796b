import{_ as m}from"../chunks/CKfCYpt-.js";export{m as component};
