import{_ as m}from"../chunks/ALj8Qw3l.js";export{m as component};
