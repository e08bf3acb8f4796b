import{a as e}from"../chunks/m3CeY9gi.js";export{e as component};
