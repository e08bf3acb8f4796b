import{a as e}from"../chunks/l3sNFH6U.js";export{e as component};
