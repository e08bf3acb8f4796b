import{b0 as O,am as y,ae as z,U as T,a9 as A,ad as C,w,D as R,af as F,b1 as U,y as Y,x as j,E as $,z as G,A as K,B as q,C as E,aj as H,aL as Z,a3 as J,S as D,ab as Q,ax as V,k as M,b2 as k,b3 as W,b4 as X,b5 as tt,g as p,e as et,h as nt,b6 as rt,aa as st,b7 as at,b8 as it,b9 as I,ba as ft,bb as ot,L as ct}from"./BvrNhT4z.js";class dt{anchor;#e=new Map;#n=new Map;#t=new Map;#r=new Set;#s=!0;constructor(t,r=!0){this.anchor=t,this.#s=r}#a=t=>{if(this.#e.has(t)){var r=this.#e.get(t),s=this.#n.get(r);if(s)O(s),this.#r.delete(r);else{var o=this.#t.get(r);o&&(O(o.effect),this.#n.set(r,o.effect),this.#t.delete(r),o.fragment.lastChild.remove(),this.anchor.before(o.fragment),s=o.effect)}for(const[i,f]of this.#e){if(this.#e.delete(i),i===t)break;const n=this.#t.get(f);n&&(y(n.effect),this.#t.delete(f))}for(const[i,f]of this.#n){if(i===r||this.#r.has(i))continue;const n=()=>{if(Array.from(this.#e.values()).includes(i)){var c=document.createDocumentFragment();F(f,c),c.append(T()),this.#t.set(i,{effect:f,fragment:c})}else y(f);this.#r.delete(i),this.#n.delete(i)};this.#s||!s?(this.#r.add(i),z(f,n,!1)):n()}}};#i=t=>{this.#e.delete(t);const r=Array.from(this.#e.values());for(const[s,o]of this.#t)r.includes(s)||(y(o.effect),this.#t.delete(s))};ensure(t,r){var s=C,o=U();if(r&&!this.#n.has(t)&&!this.#t.has(t))if(o){var i=document.createDocumentFragment(),f=T();i.append(f),this.#t.set(t,{effect:A(()=>r(f)),fragment:i})}else this.#n.set(t,A(()=>r(this.anchor)));if(this.#e.set(s,t),o){for(const[n,a]of this.#n)n===t?s.unskip_effect(a):s.skip_effect(a);for(const[n,a]of this.#t)n===t?s.unskip_effect(a.effect):s.skip_effect(a.effect);s.oncommit(this.#a),s.ondiscard(this.#i)}else w&&(this.anchor=R),this.#a(s)}}function vt(e,t,r=!1){var s;w&&(s=R,j());var o=new dt(e),i=r?$:0;function f(n,a){if(w){var c=G(s);if(n!==parseInt(c.substring(1))){var l=K();q(l),o.anchor=l,E(!1),o.ensure(n,a),E(!0);return}}o.ensure(n,a)}Y(()=>{var n=!1;t((a,c=0)=>{n=!0,f(c,a)}),n||f(-1,null)},i)}function S(e,t){return e===t||e?.[k]===t}function bt(e=V(),t,r,s){var o=H.r,i=D;return Z(()=>{var f,n;return J(()=>{f=n,n=[],M(()=>{S(r(...n),e)||(t(e,...n),f&&S(r(...f),e)&&t(null,...f))})}),()=>{let a=i;for(;a!==o&&a.parent!==null&&a.parent.f&Q;)a=a.parent;const c=()=>{n&&S(r(...n),e)&&t(null,...n)},l=a.teardown;a.teardown=()=>{c(),l?.()}}}),e}let g=!1;function lt(e){var t=g;try{return g=!1,[e(),g]}finally{g=t}}const ut={get(e,t){if(!e.exclude.has(t))return e.props[t]},set(e,t){return!1},getOwnPropertyDescriptor(e,t){if(!e.exclude.has(t)&&t in e.props)return{enumerable:!0,configurable:!0,value:e.props[t]}},has(e,t){return e.exclude.has(t)?!1:t in e.props},ownKeys(e){return Reflect.ownKeys(e.props).filter(t=>!e.exclude.has(t))}};function pt(e,t,r){return new Proxy({props:e,exclude:t},ut)}function gt(e,t,r,s){var o=!0,i=(r&at)!==0,f=(r&ot)!==0,n=s,a=!0,c=void 0,l=()=>f&&o?(c??=I(s),p(c)):(a&&(a=!1,n=f?M(s):s),n);let u;if(i){var B=k in e||ct in e;u=W(e,t)?.set??(B&&t in e?d=>e[t]=d:void 0)}var h,x=!1;i?[h,x]=lt(()=>e[t]):h=e[t],h===void 0&&s!==void 0&&(h=l(),u&&(X(),u(h)));var _;if(_=()=>{var d=e[t];return d===void 0?l():(a=!0,d)},(r&tt)===0)return _;if(u){var L=e.$$legacy;return(function(d,b){return arguments.length>0?((!b||L||x)&&u(b?_():d),d):_()})}var m=!1,v=((r&it)!==0?I:ft)(()=>(m=!1,_()));i&&p(v);var N=D;return(function(d,b){if(arguments.length>0){const P=b?p(v):i?et(d):d;return nt(v,P),m=!0,n!==void 0&&(n=P),d}return rt&&m||(N.f&st)!==0?v.v:p(v)})}const ht=({status:e,message:t})=>`<!doctype html>
<html lang="en">
	<head>
		<meta charset="utf-8" />
		<title>`+t+`</title>

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
			<span class="status">`+e+`</span>
			<div class="message">
				<h1>`+t+`</h1>
			</div>
		</div>
	</body>
</html>
`,mt=Object.freeze(Object.defineProperty({__proto__:null,default:ht},Symbol.toStringTag,{value:"Module"}));export{dt as B,bt as b,mt as e,vt as i,gt as p,pt as r};
