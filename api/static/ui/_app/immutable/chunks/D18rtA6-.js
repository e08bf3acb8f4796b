import{p as r}from"./D1EIKj-a.js";const t={get error(){return r.error},get route(){return r.route},get status(){return r.status},get url(){return r.url}},u=t;export{u as p};
