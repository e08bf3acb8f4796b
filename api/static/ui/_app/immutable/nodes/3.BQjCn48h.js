import{a as e}from"../chunks/-IZj1HEY.js";export{e as component};
