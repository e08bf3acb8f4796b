<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/BdSfOkIg.js
import{s as c,S as s,aJ as n,d as r,g as i,a_ as l}from"./lliy16Dm.js";import{v as u,q as f}from"./C5j2CPoS.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
========
import{s as c,S as s,aJ as n,d as r,g as i,a_ as l}from"./g3PZcZWi.js";import{v as u,q as f}from"./C1eOEbfp.js";function v(t){let a=c(u(s.url.search,t));return n(({to:e})=>{e&&r(a,u(e.url.search,t))}),{get value(){return i(a)},set value(e){r(a,e);const o=f(i(a),t,location.search);l(`${location.pathname}${o}${location.hash}`,s.state)}}}export{v as u};
>>>>>>>> people2:api/static/ui/_app/immutable/chunks/C-WgxbVO.js
