import{_ as m}from"../chunks/Cb4iq9D-.js";export{m as component};
