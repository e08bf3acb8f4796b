<<<<<<<< HEAD:api/static/ui/_app/immutable/chunks/5nL_FJtX.js
import{aJ as o,d as s,a_ as u,S as i,g as c,s as l}from"./B-cM6F7s.js";import{w as n}from"./jIg1UcDl.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
========
import{aJ as o,d as s,a_ as u,S as i,g as c,s as l}from"./_jm9D_IY.js";import{w as n}from"./BZfwkp5t.js";function m(t){let e=l(void 0);return o(({to:a})=>{s(e,a?.url.searchParams.get(t)||void 0,!0)}),{get value(){return c(e)},set value(a){s(e,a,!0);const r=n(location.search,t,a);u(`${location.pathname}${r}${location.hash}`,i.state)}}}export{m as u};
>>>>>>>> mendc:api/static/ui/_app/immutable/chunks/s3-X-nCP.js
