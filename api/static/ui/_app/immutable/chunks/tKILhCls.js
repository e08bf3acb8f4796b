<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/5tAI6sRq.js
import{p as r,d as o,g as a,_ as l,z as i,s as g}from"./DPBO4IZO.js";import{D as u}from"./mX3y4Y74.js";import{S as p}from"./C_ggHh9d.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
========
import{p as r,d as o,g as a,Z as l,y as i,s as g}from"./psSXX955.js";import{D as u}from"./CdnFC4OT.js";import{S as p}from"./DVuHRwpP.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
>>>>>>>> apipage:api/static/ui/_app/immutable/chunks/tKILhCls.js
