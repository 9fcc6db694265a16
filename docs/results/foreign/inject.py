#!/usr/bin/env python3
"""inject.py N FILES: judges N drawn mutants of each PTX kernel file that carries its plan and task."""
import json,os,re,subprocess,sys,time,random,glob
random.seed(7)
D='/tmp/shows/inj'; os.makedirs(D,exist_ok=True)
SYNC=re.compile(r'^\s*(?:@!?%p\d+\s+)?(bar\.|barrier\.|fence\.|membar\.|mbarrier\.|cp\.async\.(wait|commit|mbarrier)|cp\.async\.bulk\.(commit|wait)|wgmma\.(fence|commit|wait))')
MEM=re.compile(r'^\s*(?:@!?%p\d+\s+)?(st\.|atom\.|red\.|cp\.async\.c|cp\.async\.bulk\.|ldmatrix|stmatrix|ld\.(?!param|const))')
BREAK=re.compile(r'^\s*(\$L|@?!?%?p?\d*\s*bra|ret|\{|\}|@!?%p\d+\s+bra)')
def mutants(text):
    L=text.split('\n'); out=[]
    labels={}
    def put(op,i,new): out.append((op,i+1,L[i].strip(),'\n'.join(new)))
    for i,l in enumerate(L):
        m=re.match(r'^(\$L\w+):',l)
        if m: labels[m.group(1)]=i
    for i,l in enumerate(L):
        gives=re.search(r'(bar\.red|mbarrier\.(arrive|try_wait|test_wait))',l) and not re.search(r'\b_,|\.arrive\S*\s+\[',l)
        if SYNC.match(l) and l.strip().endswith(';'):
            if 'try_wait' in l or 'test_wait' in l:
                p=re.search(r'(%p\d+|[pP]\d*)\s*,',l)
                if p: put('drop_order',i,L[:i]+['setp.eq.u32 %s, 0, 0;'%p.group(1)]+L[i+1:])
            elif not gives:
                put('drop_order',i,L[:i]+['']+L[i+1:])
                for j in range(i+1,min(i+40,len(L))):
                    if BREAK.match(L[j]): break
                    if MEM.match(L[j]): put('order_late',i,L[:i]+L[i+1:j+1]+[l]+L[j+1:]); break
                for j in range(i-1,max(i-40,0),-1):
                    if BREAK.match(L[j]): break
                    if MEM.match(L[j]): put('order_early',i,L[:j]+[l]+L[j:i]+L[i+1:]); break
        m=re.match(r'^\s*@(!?%p\d+)\s+bra(?:\.uni)?\s+(\$L\w+);',l)
        if m and labels.get(m.group(2),1<<30)<i:
            put('first_round_only',i,L[:i]+['']+L[i+1:])
            h=labels[m.group(2)]
            b=max(k for k in range(h) if L[k].strip()=='{')
            put('two_rounds_only',i,L[:b+1]+['.reg .b32 %rounds; mov.u32 %rounds, 0;']+L[b+1:i]+['{ .reg .pred %%more; add.u32 %%rounds, %%rounds, 1; setp.lt.and.u32 %%more, %%rounds, 2, %s; @%%more bra %s; }'%(m.group(1),m.group(2))]+L[i+1:])
            p=m.group(1).lstrip('!')
            for j in range(i-1,h,-1):
                s=re.match(r'^\s*(setp\.\S+)\s+%s, (%%\w+), (\S+);'%p,L[j])
                if not s: continue
                for k in range(j-1,h,-1):
                    a=re.match(r'^\s*(add\.s(32|64))\s+%s, (%%\w+), (-?\d+);'%s.group(2),L[k])
                    if a:
                        put('drop_last_round',j,L[:j]+['{ .reg .b%s %%ahead; %s %%ahead, %s, %s; %s %s, %%ahead, %s; }'%(a.group(2),a.group(1),s.group(2),a.group(4),s.group(1),p,s.group(3))]+L[j+1:]); break
                break
        if re.match(r'^\s*(@!?%p\d+\s+)?(fence\.|membar\.|atom\.|red\.|ld\.|st\.|mbarrier\.)',l):
            for a,b in (('.gpu','.cta'),('.sys','.cta'),('.cluster','.cta'),('membar.gl','membar.cta')):
                if re.search(re.escape(a)+r'\b',l): put('narrow_scope',i,L[:i]+[re.sub(re.escape(a)+r'\b',b,l,1)]+L[i+1:]); break
            else:
                s=re.sub(r'\b(atom|red)\.global\.',r'\1.relaxed.cta.global.',l)
                if s!=l: put('narrow_scope',i,L[:i]+[s]+L[i+1:])
            if 'fence' not in l:
                for a,b in (('.acq_rel','.relaxed'),('.acquire','.relaxed'),('.release','.relaxed'),('.volatile','')):
                    if a in l: put('relax_order',i,L[:i]+[l.replace(a,b,1)]+L[i+1:]); break
        w=re.match(r'^(\s*)(cp\.async\.wait_group|cp\.async\.bulk\.wait_group(?:\.read)?|wgmma\.wait_group\S*)\s+(\d+);',l)
        if w: put('wait_less',i,L[:i]+['%s %d;'%(w.group(2),int(w.group(3))+1)]+L[i+1:])
        if 'cp.async.wait_all' in l: put('wait_less',i,L[:i]+['cp.async.wait_group 1;']+L[i+1:])
    return out
def verify(p):
    b=time.time()
    d=subprocess.run(['nice','-n','3','timeout','120','/work/main/build/edit/cli/cupilot','verify',p,'--device','virtual:h200','--json'],capture_output=True,text=True)
    try: j=json.loads(d.stdout)
    except ValueError: j={}
    x=(j.get('rejected') or j.get('error') or {})
    return x.get('code','PROVED' if d.returncode==0 else 'exit %d'%d.returncode),x.get('message','') or d.stderr[:200],time.time()-b
if __name__=='__main__':
    draw=int(sys.argv[1]); files=sys.argv[2:]; rows=[]
    for f in files:
        n=os.path.basename(f); t=open(f).read(); ms=mutants(t)
        ms=random.sample(ms,min(draw,len(ms)))
        print('#',n,len(ms),flush=True)
        for k,(op,line,was,text) in enumerate(ms):
            p='%s/%s-%d.ptx'%(D,n[:-4],k); open(p,'w').write(text)
            code,msg,s=verify(p)
            rows.append(dict(kernel=n,operator=op,line=line,was=was,said=code,seconds=round(s,1)))
            print('%-12s %-40s %-16s %5d %-24s %5.1f | %s'%('SURVIVED' if code=='PROVED' else 'refused',n,op,line,code,s,was[:70]),'' if code.startswith('run') or code.startswith('verify') or code=='PROVED' else msg[:160],flush=True)
        json.dump(rows,open('inj-%d.json'%os.getpid(),'w'))
