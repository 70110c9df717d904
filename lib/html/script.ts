// It is text, so that no compiler or bundler changes it: the policy has its hash.
const source = `
'use strict';
(() => {
  const each = (selector, act) => { for (const element of document.querySelectorAll(selector)) act(element) }
  const { locale, zone } = document.documentElement.dataset
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone

  // If no zone is set, moments are shown, entered and filtered in the reader's zone.
  if (zone === undefined && own) {
    const moment = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
    each('time[datetime]', time => {
      if (time.dateTime.length > 10) time.textContent = moment.format(new Date(time.dateTime))
    })
    each('.zone', place => { place.textContent = place.dataset.text.replace('{}', own) })
    const pad = number => String(number).padStart(2, '0')
    const day = date => date.getFullYear() + '-' + pad(date.getMonth() + 1) + '-' + pad(date.getDate())
    each('a[data-days]', link => {
      const from = new Date()
      from.setDate(from.getDate() - link.dataset.days + 1)
      const url = new URL(link.href)
      url.searchParams.set(link.dataset.field, day(from))
      url.searchParams.set('time-zone', own)
      link.href = url
    })
    each('input[name="_zone"]', input => { input.value = own })
    each('input[data-moment]', input => {
      const at = new Date(input.dataset.moment)
      const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(pad).join(':')
      const rest = '.' + String(at.getMilliseconds()).padStart(3, '0')
      input.value = input.defaultValue = day(at) + 'T' + (time + rest).replace(/(:00)?\\.000$/, '')
    })
    each('.days', days => {
      const model = days.querySelector('section')
      const entries = days.querySelectorAll('.timeline > li')
      const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
      const yesterday = new Date()
      yesterday.setDate(yesterday.getDate() - 1)
      const names = new Map([[day(yesterday), days.dataset.yesterday], [day(new Date()), days.dataset.today]])
      let last, list
      days.replaceChildren()
      for (const entry of entries) {
        const at = new Date(entry.querySelector('.hint time').dateTime)
        if (day(at) !== last) {
          const section = model.cloneNode(true)
          section.firstElementChild.textContent = names.get(day(at)) ?? date.format(at)
          list = section.querySelector('ol')
          list.replaceChildren()
          days.append(section)
        }
        last = day(at)
        list.append(entry)
      }
    })
  }
  each('.origin', place => { place.textContent = location.origin })

  // By its attribute: a field could be named like a member of the form.
  document.addEventListener('formdata', ({ target, formData }) => {
    if (target.getAttribute('method') !== 'get') return
    let hasDays = false
    for (const [name, value] of [...formData]) {
      if (value === '') formData.delete(name)
      else if (target.querySelector('[type="date"][name="' + CSS.escape(name) + '"]')) hasDays = true
    }
    if (zone === undefined && own && hasDays) formData.set('time-zone', own)
    // Written alike in all languages, amounts need no redirection.
    const amounts = [...target.querySelectorAll('[inputmode]')]
    if (amounts.every(({ value }) => /^[0-9]*$/.test(value))) formData.delete('_language')
  })

  // Keeps what was typed when the host asks for a sign-in, and its key: what was done is not done again.
  const keys = document.querySelectorAll('form [name="_key"]')
  const isOwn = input => input.name && (input.name === '_key' || !['hidden', 'checkbox', 'submit'].includes(input.type))
  const place = form => 'draft ' + form.getAttribute('action') +
    (form.querySelector('[name="_operation"]') ? ' of many' : '')
  const read = (form, isKept = () => true) => [...form.elements].filter(input => isOwn(input) && isKept(input))
    .map(input => [input.name, input.value])
  const withoutKey = typed => typed.filter(([name]) => name !== '_key')
  const keep = (form, isKept) => {
    const typed = read(form, isKept)
    if (withoutKey(typed).some(([, value]) => value !== '')) sessionStorage.setItem(place(form), JSON.stringify(typed))
  }
  const hash = text => [...text].reduce((mixed, letter) => (31 * mixed + letter.codePointAt(0)) % 2 ** 40, 7)
  const isDone = document.querySelector('main[data-done]')
  const doneBefore = () => JSON.parse(sessionStorage.getItem('done') ?? '[]')
  try {
    const sent = isDone && sessionStorage.getItem('sent')
    const kept = sent && sessionStorage.getItem(sent)
    if (kept) {
      const done = hash(JSON.stringify([sent, withoutKey(JSON.parse(kept))]))
      sessionStorage.removeItem(sent)
      sessionStorage.setItem('done', JSON.stringify([...doneBefore(), done].slice(-20)))
    }
  } catch {}
  for (const { form } of keys) {
    try {
      const kept = isDone ? null : sessionStorage.getItem(place(form))
      sessionStorage.removeItem(place(form))
      if (kept !== null && !document.querySelector('.refused')) {
        const values = new Map(JSON.parse(kept))
        for (const input of form.elements) {
          if (isOwn(input) && values.has(input.name)) input.value = values.get(input.name)
        }
        const box = form.closest('details')
        if (box) box.open = true
      }
      form.addEventListener('submit', () => {
        keep(form)
        sessionStorage.setItem('sent', place(form))
      })
      // When people go back, browsers fill in again what they sent from here.
      addEventListener('pageshow', () => {
        const shown = hash(JSON.stringify([place(form), withoutKey(read(form))]))
        if (doneBefore().includes(shown)) form.reset()
      })
    } catch {}
  }

  // Says that there is something new, while the page can be seen. The page itself stays as it is.
  each('[data-follow]', region => {
    const { follow, actions, text, revision, someone } = region.dataset
    const note = region.firstElementChild
    const url = new URL(follow, location.href)
    let source, timer
    let count = 0
    const close = () => {
      clearTimeout(timer)
      source?.close()
      source = undefined
    }
    const tell = ({ data, lastEventId }) => {
      url.searchParams.set('after', lastEventId)
      const entry = JSON.parse(data)
      if (revision !== undefined) {
        if (entry.outcome !== 'done' || entry.revision <= revision) return
        close()
      }
      count++
      const named = revision === undefined ? count : entry.principal ?? someone
      note.firstElementChild.textContent = text.replace('{}', () => named)
      note.hidden = false
    }
    const open = () => {
      close()
      if (document.visibilityState === 'hidden' || (revision !== undefined && !note.hidden)) return
      source = new EventSource(url)
      for (const action of actions.split(' ')) source.addEventListener(action, tell)
      // Such as when the server is busy; a lost connection the browser opens again itself.
      source.onerror = () => { if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, 30_000) }
    }
    addEventListener('pageshow', open)
    addEventListener('pagehide', close)
    document.addEventListener('visibilitychange', open)
    // What is sent now is no news on the page that it leads to.
    document.addEventListener('submit', close)
    // The next page has what was typed, and the values of others in the fields that were not touched.
    const isTouched = input => {
      const options = [...input.options ?? []]
      const chosen = options.find(option => option.defaultSelected) ?? options[0]
      return input.value !== (chosen ? chosen.value : input.defaultValue)
    }
    note.querySelector('a').addEventListener('click', () => {
      try {
        for (const { form } of keys) keep(form, isTouched)
      } catch {}
    })
  })

  // Typing ahead in fields that refer to other items, also in rows that are added.
  const turns = new WeakMap()
  const timers = new WeakMap()
  document.addEventListener('input', ({ target: input }) => {
    if (!input.dataset.lookup) return
    clearTimeout(timers.get(input))
    const text = input.value.trim()
    if (text === '' || / \\([^()]+\\)$/.test(text)) return
    timers.set(input, setTimeout(async () => {
      const turn = (turns.get(input) ?? 0) + 1
      turns.set(input, turn)
      const response = await fetch(input.dataset.lookup + encodeURIComponent(text))
      const { items } = response.ok ? await response.json() : { items: [] }
      if (turn !== turns.get(input)) return
      input.list.replaceChildren(...items.map(item => {
        const option = document.createElement('option')
        // If the title is invisible, the id is shown.
        const title = String(item[input.dataset.title] ?? '')
        option.value = (/[^\\s\\p{C}]/u.test(title) ? title : item.id) + ' (' + item.id + ')'
        return option
      }))
    }, 200))
  })

  // Rows without a round trip.
  const last = /\\d+(?=\\D*$)/
  const rowsOf = list => [...list.querySelectorAll('tbody tr')]
  const firstInput = row => row.querySelector('input:not([type="hidden"]), select, textarea')
  const empty = row => {
    for (const input of row.querySelectorAll('input:not([type="hidden"]), select, textarea')) {
      input.value = ''
      for (const name of ['aria-invalid', 'aria-describedby', 'autofocus']) input.removeAttribute(name)
    }
    for (const error of row.querySelectorAll('.error')) error.remove()
  }
  const count = list => {
    const rows = rowsOf(list)
    for (const [index, row] of rows.entries()) {
      for (const named of row.querySelectorAll('[aria-label]')) {
        named.setAttribute('aria-label', named.getAttribute('aria-label').replace(last, index + 1))
      }
    }
    list.querySelector('[name="_add"]').hidden = rows.length >= list.dataset.most
  }
  const addRow = list => {
    const rows = rowsOf(list)
    const numbers = [...list.querySelectorAll('[name]')].map(({ name }) => Number(/\\.(\\d+)\\./.exec(name)?.[1] ?? -1))
    const number = Math.max(...numbers) + 1
    const added = rows.at(-1).cloneNode(true)
    empty(added)
    for (const input of added.querySelectorAll('[name]')) {
      const { name, id } = input
      if (name === '_remove') {
        input.value = input.value.replace(last, number)
        continue
      }
      if (name.startsWith('_was.')) input.value = ''
      input.name = name.replace(/\\.\\d+\\./, '.' + number + '.')
      if (id) input.id = id.replace(name.replaceAll('.', '-'), input.name.replaceAll('.', '-'))
      const options = input.hasAttribute('list') && input.nextElementSibling
      if (options) {
        options.id = input.id + '-list'
        options.replaceChildren()
        input.setAttribute('list', options.id)
      }
    }
    rows.at(-1).after(added)
    count(list)
    firstInput(added).focus()
  }
  const removeRow = (list, row) => {
    const rows = rowsOf(list)
    const next = rows[rows.indexOf(row) + 1] ?? rows[rows.indexOf(row) - 1] ?? row
    // What the page showed tells that the row is gone.
    if (next === row) empty(row)
    else {
      list.append(...row.querySelectorAll('[name^="_was."]'))
      row.remove()
    }
    count(list)
    firstInput(next).focus()
  }
  each('fieldset.rows', list => list.addEventListener('click', event => {
    const button = event.target.closest('[name="_add"], [name="_remove"]')
    if (!button) return
    event.preventDefault()
    if (button.name === '_add') addRow(list)
    else removeRow(list, button.closest('tr'))
  }))
  // Back and reload do not send the form again.
  const { place: instead } = document.getElementById('main').dataset
  if (instead) history.replaceState(null, '', instead)
})()
`

/** Pages work without it. Without comments and indentation, which would be a fifth of it. */
export const script = source.replace(/^ *(?:\/\/.*\n *)*/gm, '')
