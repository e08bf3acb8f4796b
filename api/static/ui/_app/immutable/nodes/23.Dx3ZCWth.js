import{_ as m}from"../chunks/l3sNFH6U.js";export{m as component};
