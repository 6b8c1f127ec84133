import { expect } from 'chai';
import fc from 'fast-check';
import { compileTemplate } from '../../../src/injection/template.ts';

describe('injection template', () => {
  it('keeps any text the one value it is, quoted or not, whole or in part, as value or as key', () => {
    const template = compileTemplate(
      'plain: {{ v }}\nquoted: "{{ v }}"\nsingle: \'{{ v }}\'\nlist: [a, {{ v }}]\nmap: {"{{ v }}": 1}\nblock: |-\n  {{ v }}\npart: "<{{ v }}>"\nplainpart: x-{{ v }}',
    );
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '", evil: true, x: "',
        "', evil",
        ']\nevil: true',
        '\n  privileged: true',
        '{{ w }}',
        '{% raw %}',
        '\uE0000\uE001',
        '__proto__',
        '$&',
        'true',
        '1',
        '~',
        '*a',
        '&a x',
        '!!js x',
        '# x',
        '---',
      ),
    );
    fc.assert(
      fc.property(hostile, (v) => {
        expect(template.render({ v, w: 'wrong' })).to.deep.equal({
          plain: v,
          quoted: v,
          single: v,
          list: ['a', v],
          map: Object.fromEntries([[v, 1]]),
          block: v,
          part: `<${v}>`,
          plainpart: `x-${v}`,
        });
      }),
    );
  });

  it('lets no value refer to a variable of its container, where the kubelet follows references', () => {
    const container =
      'args: [{{ v }}, "-x={{ v }}", $(POD_NAME)]\n  command: {{ l }}\n  env:\n  - name: A\n    value: "{{ v }}"\n  image: {{ v }}\n  lifecycle: {preStop: {exec: {command: [{{ v }}]}}}\n';
    const template = compileTemplate(`containers:\n- name: a\n  ${container}annotations: {args: {{ v }}}\n`);
    expect(template.render({ v: '$(TOKEN) $$', l: ['$(TOKEN)'] })).to.deep.equal({
      containers: [
        {
          name: 'a',
          args: ['$$(TOKEN) $$$$', '-x=$$(TOKEN) $$$$', '$(POD_NAME)'],
          command: ['$$(TOKEN)'],
          env: [{ name: 'A', value: '$$(TOKEN) $$$$' }],
          image: '$(TOKEN) $$',
          lifecycle: { preStop: { exec: { command: ['$(TOKEN) $$'] } } },
        },
      ],
      annotations: { args: '$(TOKEN) $$' },
    });
  });

  it('gives a plain output the type of its value, and a quoted one a text', () => {
    const template = compileTemplate('a: {{ n }}\nb: "{{ n }}"\nc: {{ o }}\nd: "{{ o }}"');
    expect(template.render({ n: 5, o: { x: [1] } })).to.deep.equal({ a: 5, b: '5', c: { x: [1] }, d: '{"x":[1]}' });
  });

  it('branches and repeats on values without confusing pods of different shapes', () => {
    const template = compileTemplate(
      'items:\n{%- for item in list %}\n- {{ item }}\n{%- endfor %}\n{%- if list.size > 1 %}\nmany: true\n{%- endif %}',
    );
    expect(template.render({ list: ['a', 'b'] })).to.deep.equal({ items: ['a', 'b'], many: true });
    expect(template.render({ list: ['c'] })).to.deep.equal({ items: ['c'] });
    expect(template.render({ list: ['d', 'e'] })).to.deep.equal({ items: ['d', 'e'], many: true });
  });

  const TEXTS = [
    'shared: {{ settings.a }}\npod: {{ pod.name }}\nlist: [{{ settings.a }}, {{ pod.name }}, x-{{ settings.b }}-{{ pod.name }}]\nmap: {"{{ settings.b }}": {{ pod.name }}}',
    'a: {% if settings.a == pod.name %}same{% else %}{{ settings.b }}{% endif %}\nb: {{ settings[pod.name] | default: pod.name }}',
    '{% assign x = pod.name %}a: {{ x }}\nb: {{ settings.a | append: x }}',
    '{% for pod in settings.list %}"{{ pod }}": {{ settings.a }}\n{% endfor %}a: {{ pod.name }}',
  ];
  const value = fc.constantFrom('a', 'b', '', '\uE0000\uE001', '\uE0001\uE001', '$');
  const variables = fc.tuple(value, value, value).map(([name, a, b]) => ({
    pod: { name },
    settings: { a, b, list: ['k'], '': '', $: 'd', '\uE0000\uE001': 'm', '\uE0001\uE001': 'n' },
  }));
  for (const text of TEXTS) {
    it(`gives each of many pods what the first would get, by ${JSON.stringify(text)}`, () => {
      const template = compileTemplate(text);
      fc.assert(
        fc.property(variables, (each) => {
          expect(template.render(each)).to.deep.equal(compileTemplate(text).render(each));
        }),
      );
    });
  }

  for (const [title, text] of [
    ['the filter raw, which prints past the marks', 'a: {{ v | raw }}'],
    ['the tag echo, which prints past the marks', 'a: {% echo v %}'],
    ['the tag capture', '{% capture x %}{{ v }}{% endcapture %}a: {{ x }}'],
    ['the tag cycle', 'a: {% cycle v %}'],
    ['the tag include, which reads files', 'a: {% include "x" %}'],
    ['the tag render, which reads files', 'a: {% render "x" %}'],
    ['an unknown variable', 'a: {{ nobody }}'],
    ['an unknown field', 'a: {{ o.nothing }}'],
    ['what objects inherit', 'a: {{ o.constructor }}'],
    ['Liquid that ends in the middle', 'a: {{ v'],
    ['a list', '- {{ v }}'],
    ['text that is no YAML', 'a: [{{ v }}'],
    ['the characters that mark values', 'a: \uE0000\uE001'],
  ] as const) {
    it(`refuses ${title}`, () => {
      expect(() => compileTemplate(text).render({ v: 'x', o: {} }))
        .to.throw()
        .with.property('code', 'invalid');
    });
  }
});
