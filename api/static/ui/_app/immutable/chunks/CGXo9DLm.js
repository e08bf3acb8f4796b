<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/CGXo9DLm.js
import{aJ as o,d as s,a_ as u,S as i,g as c,s as l}from"./lliy16Dm.js";import{w as n}from"./C5j2CPoS.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
========
import{aJ as o,d as s,a_ as u,S as i,g as c,s as l}from"./g3PZcZWi.js";import{w as n}from"./C1eOEbfp.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
>>>>>>>> people2:api/static/ui/_app/immutable/chunks/B9EFszDP.js
