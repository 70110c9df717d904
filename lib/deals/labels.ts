import type { Labels } from '../core/family/presentation.js'

const en: Labels = {
  fields: { amercement: 'Fee' },
  operations: {
    hold: { label: 'Hold', done: 'Held' },
    unhold: { label: 'Release', done: 'Released' },
    complete: { label: 'Complete', done: 'Completed' },
    cancel: { label: 'Cancel the deal', done: 'Cancelled' },
    'change-price': { label: 'Change the price', done: 'Price changed' },
    'change-completion-date': { label: 'Change the completion date', done: 'Completion date changed' },
    edit: { label: 'Rename', done: 'Renamed' }
  }
}

const de: Labels = {
  plural: 'Geschäfte',
  singular: 'Geschäft',
  create: 'Neues Geschäft',
  fields: {
    id: 'Nummer',
    name: 'Name',
    price: 'Preis',
    held: 'Angehalten',
    holdReason: 'Grund des Anhaltens',
    status: 'Status',
    completionDate: 'Abschlussdatum',
    amercement: 'Gebühr',
    revision: 'Version',
    createdAt: 'Angelegt',
    updatedAt: 'Geändert',
    reason: 'Grund',
    comment: 'Bemerkung',
    newPrice: 'Neuer Preis',
    newDate: 'Neues Datum',
    whyChanged: 'Grund der Änderung'
  },
  operations: {
    create: { label: 'Anlegen', done: 'Angelegt' },
    edit: { label: 'Umbenennen', done: 'Umbenannt' },
    delete: { label: 'Löschen', done: 'Gelöscht' },
    hold: { label: 'Anhalten', done: 'Angehalten' },
    unhold: { label: 'Freigeben', done: 'Freigegeben' },
    complete: { label: 'Abschließen', done: 'Abgeschlossen' },
    cancel: { label: 'Geschäft stornieren', done: 'Storniert' },
    'change-price': { label: 'Preis ändern', done: 'Preis geändert' },
    'change-completion-date': { label: 'Abschlussdatum ändern', done: 'Abschlussdatum geändert' }
  },
  states: { open: 'Offen', held: 'Angehalten', completed: 'Abgeschlossen', cancelled: 'Storniert' }
}

export const dealLabels = { en, de }
