import{_ as m}from"../chunks/m3CeY9gi.js";export{m as component};
