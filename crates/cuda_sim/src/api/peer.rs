//! Access of one device to another's memory.

use crate::code::Code;
use crate::entry::{api, put};
use crate::model::Handle;
use crate::state::state;

/// Attributes of a pair of devices: performance, access, atomics, access to arrays.
const ACCESS: u32 = 2;
const ATOMICS: u32 = 3;

api! {
    cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        let mut state = state()?;
        let (device, peer) = (state.device(device)?.number, state.device(peer)?.number);
        put(can, i32::from(device != peer))
    }

    cuDeviceGetP2PAttribute(value: *mut i32, attribute: u32, from: i32, to: i32) {
        let mut state = state()?;
        let (from, to) = (state.device(from)?.number, state.device(to)?.number);
        if from == to {
            return Err(Code::INVALID_DEVICE);
        }
        put(value, i32::from(matches!(attribute, ACCESS | ATOMICS)))
    }

    cuCtxEnablePeerAccess(peer: Handle, flags: u32) {
        let mut state = state()?;
        let context = state.current()?;
        let device = state.current_device()?.number;
        let peer = state.contexts.get(&peer).ok_or(Code::INVALID_CONTEXT)?.device;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if peer == device {
            return Err(Code::INVALID_DEVICE);
        }
        let known = state.contexts.get_mut(&context).ok_or(Code::INVALID_CONTEXT)?;
        if !known.peers.insert(peer) {
            return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
        }
        state.share_all(peer, device);
        Ok(())
    }

    cuCtxDisablePeerAccess(peer: Handle) {
        let mut state = state()?;
        let context = state.current()?;
        let device = state.current_device()?.number;
        let peer = state.contexts.get(&peer).ok_or(Code::INVALID_CONTEXT)?.device;
        let known = state.contexts.get_mut(&context).ok_or(Code::INVALID_CONTEXT)?;
        if !known.peers.remove(&peer) {
            return Err(Code::PEER_ACCESS_NOT_ENABLED);
        }
        state.unshare_all(peer, device);
        Ok(())
    }
}
