//! User objects, which live as long as graphs refer to them.

use crate::code::{Answer, Code};
use crate::entry::{api, put_made};
use crate::model::{Handle, UserObject};
use crate::state::state;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`, which is required.
const NO_DESTRUCTOR_SYNC: u32 = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`.
const MOVE: u32 = 1;

/// Objects, and the number of references to each.
type References = BTreeMap<Handle, (Arc<UserObject>, u32)>;

api! {
    cuUserObjectCreate(object: *mut Handle, data: usize, destroy: usize, count: u32, flags: u32) {
        if destroy == 0 || flags != NO_DESTRUCTOR_SYNC {
            return Err(Code::INVALID_VALUE);
        }
        valid(count)?;
        put_made(object, || {
            let mut state = state()?;
            let new = state.handle();
            state.user_objects.insert(new, (Arc::new(UserObject::new(destroy, data)), count));
            Ok(new)
        })
    }

    cuUserObjectRetain(object: Handle, count: u32) {
        valid(count)?;
        let mut state = state()?;
        let (known, _) = state.user_objects.get(&object).ok_or(Code::INVALID_VALUE)?;
        let known = known.clone();
        add(&mut state.user_objects, object, known, count)
    }

    cuUserObjectRelease(object: Handle, count: u32) {
        valid(count)?;
        remove(&mut state()?.user_objects, object, count).map(|_| ())
    }

    cuGraphRetainUserObject(graph: Handle, object: Handle, count: u32, flags: u32) {
        valid(count)?;
        let mut state = state()?;
        if flags & !MOVE != 0 || !state.graphs.contains_key(&graph) {
            return Err(Code::INVALID_VALUE);
        }
        let known = if flags == MOVE {
            remove(&mut state.user_objects, object, count)?
        } else {
            // The program may have given all its own references to graphs.
            let graphs = state.graphs.values().map(|graph| &graph.objects);
            let mut all = graphs.chain([&state.user_objects]).filter_map(|objects| objects.get(&object));
            all.next().ok_or(Code::INVALID_VALUE)?.0.clone()
        };
        let graph = state.graphs.get_mut(&graph).ok_or(Code::INVALID_VALUE)?;
        add(&mut graph.objects, object, known, count)
    }

    cuGraphReleaseUserObject(graph: Handle, object: Handle, count: u32) {
        valid(count)?;
        let mut state = state()?;
        let graph = state.graphs.get_mut(&graph).ok_or(Code::INVALID_VALUE)?;
        remove(&mut graph.objects, object, count).map(|_| ())
    }
}

fn valid(count: u32) -> Answer {
    if (1..=i32::MAX as u32).contains(&count) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

fn add(to: &mut References, object: Handle, known: Arc<UserObject>, count: u32) -> Answer {
    let (_, references) = to.entry(object).or_insert((known, 0));
    *references = references.checked_add(count).ok_or(Code::INVALID_VALUE)?;
    Ok(())
}

/// Removes references, and returns the object.
fn remove(from: &mut References, object: Handle, count: u32) -> Answer<Arc<UserObject>> {
    let Entry::Occupied(mut known) = from.entry(object) else { return Err(Code::INVALID_VALUE) };
    let (_, references) = known.get_mut();
    *references = references.checked_sub(count).ok_or(Code::INVALID_VALUE)?;
    Ok(if *references == 0 { known.remove().0 } else { known.get().0.clone() })
}
