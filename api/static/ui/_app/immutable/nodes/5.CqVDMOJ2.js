import{_ as m}from"../chunks/B8SYa7Ru.js";export{m as component};
