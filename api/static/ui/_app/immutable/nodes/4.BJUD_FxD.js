import{a as e}from"../chunks/-ZkCrz2X.js";export{e as component};
