import{E as m}from"../chunks/Cnb0uW2z.js";export{m as component};
