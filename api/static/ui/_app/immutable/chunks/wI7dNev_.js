<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/wI7dNev_.js
import{s as c,S as s,aJ as n,d as r,g as i,a_ as l}from"./B-cM6F7s.js";import{v as u,q as f}from"./jIg1UcDl.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
========
import{s as c,S as s,aJ as n,d as r,g as i,a_ as l}from"./_jm9D_IY.js";import{v as u,q as f}from"./BZfwkp5t.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
>>>>>>>> mendc:api/static/ui/_app/immutable/chunks/BK4gMCUv.js
