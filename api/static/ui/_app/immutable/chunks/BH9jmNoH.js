import{G as O,E as S,F as x,_ as I,aR as A,aS as U,ai as N,H as k,ah as w,aa as B,aT as Y,aU as F,at as q,aV as z,aQ as G,A as $,aj as j,aW as H,aX as D,aY as K,aZ as V,a_ as W,k as b,B as Z,q as Q,a$ as X,b0 as J,b1 as tt,b2 as et,b3 as T,b4 as nt,b5 as rt,L as at}from"./Cdzr6wlz.js";const st=(function(){const e=typeof document<"u"&&document.createElement("link").relList;return e&&e.supports&&e.supports("modulepreload")?"modulepreload":"preload"})(),it=function(t,e){return new URL(t,e).href},L={},vt=function(e,r,l){let u=Promise.resolve();if(r&&r.length>0){let f=function(a){return Promise.all(a.map(d=>Promise.resolve(d).then(m=>({status:"fulfilled",value:m}),m=>({status:"rejected",reason:m}))))};const i=document.getElementsByTagName("link"),n=document.querySelector("meta[property=csp-nonce]"),s=n?.nonce||n?.getAttribute("nonce");u=f(r.map(a=>{if(a=it(a,l),a in L)return;L[a]=!0;const d=a.endsWith(".css"),m=d?'[rel="stylesheet"]':"";if(l)for(let _=i.length-1;_>=0;_--){const h=i[_];if(h.href===a&&(!d||h.rel==="stylesheet"))return}else if(document.querySelector(`link[href="${a}"]${m}`))return;const c=document.createElement("link");if(c.rel=d?"stylesheet":st,d||(c.as="script"),c.crossOrigin="",c.href=a,s&&c.setAttribute("nonce",s),document.head.appendChild(c),d)return new Promise((_,h)=>{c.addEventListener("load",_),c.addEventListener("error",()=>h(new Error(`Unable to preload CSS for ${a}`)))})}))}function o(i){const n=new Event("vite:preloadError",{cancelable:!0});if(n.payload=i,window.dispatchEvent(n),!n.defaultPrevented)throw i}return u.then(i=>{for(const n of i||[])n.status==="rejected"&&o(n.reason);return e().catch(o)})},ot="5";typeof window<"u"&&((window.__svelte??={}).v??=new Set).add(ot);function ht(t,e,r=!1){var l;S&&(l=B,x());var u=new k(t),o=r?I:0;function i(n,s){if(S){var f=A(l);if(n!==parseInt(f.substring(1))){var a=U();N(a),u.anchor=a,w(!1),u.ensure(n,s),w(!0);return}}u.ensure(n,s)}O(()=>{var n=!1;e((s,f=0)=>{n=!0,i(f,s)}),n||i(-1,null)},o)}function _t(t,e,r){var l;S&&(l=B,x());var u=new k(t);O(()=>{var o=e()??null;if(S){var i=A(l),n=i===Y,s=o!==null;if(n!==s){var f=U();N(f),u.anchor=f,w(!1),u.ensure(o,o&&(a=>r(a,o))),w(!0);return}}u.ensure(o,o&&(a=>r(a,o)))},I)}function P(t,e){return t===e||t?.[D]===e}function mt(t=z(),e,r,l){var u=F.r,o=j;return q(()=>{var i,n;return G(()=>{i=n,n=[],$(()=>{P(r(...n),t)||(e(t,...n),i&&P(r(...i),t)&&e(null,...i))})}),()=>{let s=o;for(;s!==u&&s.parent!==null&&s.parent.f&H;)s=s.parent;const f=()=>{n&&P(r(...n),t)&&e(null,...n)},a=s.teardown;s.teardown=()=>{f(),a?.()}}}),t}let y=!1;function lt(t){var e=y;try{return y=!1,[t(),y]}finally{y=e}}const ut={get(t,e){if(!t.exclude.has(e))return t.props[e]},set(t,e){return!1},getOwnPropertyDescriptor(t,e){if(!t.exclude.has(e)&&e in t.props)return{enumerable:!0,configurable:!0,value:t.props[e]}},has(t,e){return t.exclude.has(e)?!1:e in t.props},ownKeys(t){return Reflect.ownKeys(t.props).filter(e=>!t.exclude.has(e))}};function pt(t,e,r){return new Proxy({props:t,exclude:e},ut)}function gt(t,e,r,l){var u=!0,o=(r&tt)!==0,i=(r&rt)!==0,n=l,s=!0,f=void 0,a=()=>i&&u?(f??=T(l),b(f)):(s&&(s=!1,n=i?$(l):l),n);let d;if(o){var m=D in t||at in t;d=K(t,e)?.set??(m&&e in t?v=>t[e]=v:void 0)}var c,_=!1;o?[c,_]=lt(()=>t[e]):c=t[e],c===void 0&&l!==void 0&&(c=a(),d&&(V(),d(c)));var h;if(h=()=>{var v=t[e];return v===void 0?a():(s=!0,v)},(r&W)===0)return h;if(d){var M=t.$$legacy;return(function(v,g){return arguments.length>0?((!g||M||_)&&d(g?h():v),v):h()})}var E=!1,p=((r&et)!==0?T:nt)(()=>(E=!1,h()));o&&b(p);var C=j;return(function(v,g){if(arguments.length>0){const R=g?b(p):o?Z(v):v;return Q(p,R),E=!0,n!==void 0&&(n=R),v}return X&&E||(C.f&J)!==0?p.v:b(p)})}const ct=6e4;function bt(t,e){const r=document.createElement("a");r.href=URL.createObjectURL(t),r.download=e,r.click(),setTimeout(()=>URL.revokeObjectURL(r.href),ct)}const ft=({status:t,message:e})=>`<!doctype html>
<html lang="en">
	<head>
		<meta charset="utf-8" />
		<title>`+e+`</title>

		<style>
			body {
				--bg: white;
				--fg: #222;
				--divider: #ccc;
				background: var(--bg);
				color: var(--fg);
				font-family:
					system-ui,
					-apple-system,
					BlinkMacSystemFont,
					'Segoe UI',
					Roboto,
					Oxygen,
					Ubuntu,
					Cantarell,
					'Open Sans',
					'Helvetica Neue',
					sans-serif;
				display: flex;
				align-items: center;
				justify-content: center;
				height: 100vh;
				margin: 0;
			}

			.error {
				display: flex;
				align-items: center;
				max-width: 32rem;
				margin: 0 1rem;
			}

			.status {
				font-weight: 200;
				font-size: 3rem;
				line-height: 1;
				position: relative;
				top: -0.05rem;
			}

			.message {
				border-left: 1px solid var(--divider);
				padding: 0 0 0 1rem;
				margin: 0 0 0 1rem;
				min-height: 2.5rem;
				display: flex;
				align-items: center;
			}

			.message h1 {
				font-weight: 400;
				font-size: 1em;
				margin: 0;
			}

			@media (prefers-color-scheme: dark) {
				body {
					--bg: #222;
					--fg: #ddd;
					--divider: #666;
				}
			}
		</style>
	</head>
	<body>
		<div class="error">
			<span class="status">`+t+`</span>
			<div class="message">
				<h1>`+e+`</h1>
			</div>
		</div>
	</body>
</html>
`,yt=Object.freeze(Object.defineProperty({__proto__:null,default:ft},Symbol.toStringTag,{value:"Module"}));export{vt as _,mt as b,_t as c,yt as e,ht as i,gt as p,pt as r,bt as s};
