import{_ as m}from"../chunks/qEitmOg_.js";export{m as component};
