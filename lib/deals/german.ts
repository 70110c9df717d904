import type { Labels } from '../core/family/presentation.js'

export const germanLabels: Labels = {
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

/** What deals say in problems and forms; a part of the German texts of pages. */
export const germanMessages: Readonly<Record<string, string>> = {
  'The deal is held': 'Das Geschäft ist angehalten',
  'The deal is not held': 'Das Geschäft ist nicht angehalten',
  'The deal is completed': 'Das Geschäft ist abgeschlossen',
  'The deal is cancelled': 'Das Geschäft ist storniert',
  'The name of the deal': 'Wie das Geschäft heißt',
  'The agreed price': 'Der vereinbarte Preis',
  'The day on which the deal is to be completed': 'Der Tag, an dem das Geschäft abgeschlossen sein soll',
  'Hold a deal for a reason': 'Das Geschäft mit einem Grund anhalten',
  'Why the deal is held': 'Warum das Geschäft angehalten ist',
  'Release a held deal': 'Ein angehaltenes Geschäft freigeben',
  'Complete a deal': 'Das Geschäft abschließen',
  'A remark for the log': 'Eine Bemerkung für den Verlauf',
  'Cancel a deal for an amercement': 'Das Geschäft gegen eine Gebühr stornieren',
  'The fee for cancelling': 'Was die Stornierung kostet',
  'Why the deal is cancelled': 'Warum das Geschäft storniert wird',
  'Agree on a different price': 'Einen anderen Preis vereinbaren',
  'The new price': 'Der Preis von jetzt an',
  'Why the price is changed': 'Warum der Preis geändert wird',
  'Agree on a different completion date': 'Ein anderes Abschlussdatum vereinbaren',
  'The new completion date': 'Das Abschlussdatum von jetzt an',
  'The fee for the change': 'Was die Änderung kostet',
  'Why the date is changed': 'Warum das Datum geändert wird'
}
