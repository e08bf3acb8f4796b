import{_ as m}from"../chunks/CMkZ047u.js";export{m as component};
