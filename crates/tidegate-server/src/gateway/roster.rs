//! Who is connected, and who makes room when all places are taken.

use std::cell::RefCell;
use std::rc::Rc;

use slab::Slab;

use super::client::Client;

/// The clients of one worker.
#[derive(Default)]
pub(crate) struct Roster(RefCell<Slab<Rc<Client>>>);

impl Roster {
    /// Enlists `client` until what this returns is dropped.
    pub(crate) fn enlist(self: &Rc<Self>, client: &Rc<Client>) -> Enlisted {
        Enlisted {
            index: self.0.borrow_mut().insert(client.clone()),
            roster: self.clone(),
        }
    }

    /// Lets go whoever has rested longest, or has kept its head waited for longest. Nobody to whom anything is owed.
    ///
    /// A look at every client: cheap beside opening a connection, and only done when there is no place for one.
    pub(crate) fn make_room(&self) {
        let clients = self.0.borrow();
        let resting = clients.iter().map(|(_, client)| client);
        let longest = resting
            .filter_map(|client| Some((client.rests_since()?, client)))
            .min_by_key(|(since, _)| *since);
        if let Some((_, client)) = longest {
            client.let_go();
        }
    }
}

/// A client's entry.
pub(crate) struct Enlisted {
    roster: Rc<Roster>,
    index: usize,
}

impl Drop for Enlisted {
    fn drop(&mut self) {
        let client = self.roster.0.borrow_mut().try_remove(self.index);
        drop(client);
    }
}
