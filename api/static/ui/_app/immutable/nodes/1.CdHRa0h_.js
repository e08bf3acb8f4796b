import{E as m}from"../chunks/osJC3SHk.js";export{m as component};
