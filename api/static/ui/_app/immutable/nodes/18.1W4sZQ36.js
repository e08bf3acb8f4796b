import{_ as m}from"../chunks/-IZj1HEY.js";export{m as component};
