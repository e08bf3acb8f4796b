<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/D_clLGeH.js
import{j as l,z as s,g as r,J as a,l as i,A as g}from"./CZaL0Cx_.js";import{D as u}from"./BSzYIqA-.js";import{S as p}from"./dR2YqzSN.js";function h(n,o){l(o,!0);let e=g(!0);u(n,{get title(){return a.text.shell.signInTitle},get onclose(){return o.onclose},get open(){return r(e)},set open(t){s(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>s(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
========
import{p as l,k as s,g as r,Q as a,l as i,m as g}from"./kmzf9rIF.js";import{D as u}from"./YRBjSmdS.js";import{S as p}from"./BvLUZESg.js";function h(n,o){l(o,!0);let e=g(!0);u(n,{get title(){return a.text.shell.signInTitle},get onclose(){return o.onclose},get open(){return r(e)},set open(t){s(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>s(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
>>>>>>>> main:api/static/ui/_app/immutable/chunks/DoFHNVUc.js
