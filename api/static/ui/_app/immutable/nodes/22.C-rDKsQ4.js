import{_ as m}from"../chunks/-ZkCrz2X.js";export{m as component};
