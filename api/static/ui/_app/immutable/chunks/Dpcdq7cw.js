import{p as r}from"./Bdzp9m9K.js";const t={get error(){return r.error},get route(){return r.route},get status(){return r.status},get url(){return r.url}},u=t;export{u as p};
