import{_ as m}from"../chunks/BHmq_y_i.js";export{m as component};
