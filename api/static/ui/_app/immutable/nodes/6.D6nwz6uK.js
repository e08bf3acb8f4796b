import{_ as m}from"../chunks/_lqwfil-.js";export{m as component};
