<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/BSvDicHd.js
import{p as r,d as o,g as a,Y as l,y as i,s as g}from"./B-cM6F7s.js";import{D as u}from"./C64icFh9.js";import{S as p}from"./i611v3b0.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
========
import{p as r,d as o,g as a,Y as l,y as i,s as g}from"./_jm9D_IY.js";import{D as u}from"./D5Gjbtio.js";import{S as p}from"./BT4PSv3H.js";function h(n,s){r(s,!0);let e=g(!0);u(n,{get title(){return l.text.shell.signInTitle},get onclose(){return s.onclose},get open(){return a(e)},set open(t){o(e,t,!0)},children:(t,f)=>{p(t,{ondone:()=>o(e,!1)})},$$slots:{default:!0}}),i()}export{h as default};
>>>>>>>> mendc:api/static/ui/_app/immutable/chunks/C-L3XAYw.js
