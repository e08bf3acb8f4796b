<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/BraQVfHj.js
import{p as r,d as o,g as a,Y as l,y as i,s as g}from"./DrVBLh2A.js";import{D as u}from"./BhbWUjc_.js";import{S as p}from"./CQt-MzCf.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
========
import{p as r,d as o,g as a,Y as l,y as i,s as g}from"./CBIqDuos.js";import{D as u}from"./DfmI52wD.js";import{S as p}from"./BRz4Uvdh.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
>>>>>>>> owner:api/static/ui/_app/immutable/chunks/nlwH1W5K.js
