//! Where a streamed input is computed: on one device, or on a group of devices of which each streams a range.

use crate::group::described;
use rustwarp::dot::Real;
use rustwarp::element::Element;
use rustwarp::histogram::{Bins, Counted};
use rustwarp::matmul::Real as Factor;
use rustwarp::reduce::Op;
use rustwarp::scan::Kind;
use rustwarp::streamed::{self, Settings, Sink, Source, Total};
use rustwarp::{Device, Group, Result};

/// Where a streamed input is computed.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// On this device.
    Device(&'a Device),
    /// On the devices of a group.
    Group(&'a Group),
}

impl Place<'_> {
    /// The first device.
    pub(super) fn device(&self) -> Option<&Device> {
        match self {
            Self::Device(device) => Some(device),
            Self::Group(group) => group.devices().next(),
        }
    }

    /// What a row calls the device: its name on the command line, and that of the product.
    pub(super) fn names(&self) -> [String; 2] {
        let product = self.device().map(|device| device.info().name.clone()).unwrap_or_default();
        match self {
            Self::Device(device) => [device.info().device.clone(), product],
            Self::Group(group) => [described(group), product],
        }
    }

    pub(super) fn reduce<O: Op<T>, T: Element>(
        &self,
        source: &dyn Source,
        elements: u64,
        settings: &Settings<'_>,
    ) -> Result<Total<T>> {
        match self {
            Self::Device(device) => streamed::reduce::<O, T>(device, source, 0..elements, settings),
            Self::Group(group) => group.reduce_streamed::<O, T>(source, elements, settings),
        }
    }

    pub(super) fn dot<T: Element + Real>(
        &self,
        sources: [&dyn Source; 2],
        elements: u64,
        settings: &Settings<'_>,
    ) -> Result<Total<T>> {
        match self {
            Self::Device(device) => streamed::dot::<T>(device, sources, 0..elements, settings),
            Self::Group(group) => group.dot_streamed::<T>(sources, elements, settings),
        }
    }

    pub(super) fn histogram<S: Counted>(
        &self,
        source: &dyn Source,
        elements: u64,
        bins: Bins<S>,
        settings: &Settings<'_>,
    ) -> Result<Vec<u64>> {
        match self {
            Self::Device(device) => streamed::histogram(device, source, 0..elements, bins, settings),
            Self::Group(group) => group.histogram_streamed(source, elements, bins, settings),
        }
    }

    pub(super) fn scan<O: Op<T>, T: Element>(
        &self,
        source: &dyn Source,
        elements: u64,
        kind: Kind,
        sink: &dyn Sink,
        settings: &Settings<'_>,
    ) -> Result<()> {
        match self {
            Self::Device(device) => {
                streamed::scan::<O, T>(device, source, 0..elements, kind, O::identity(), sink, settings).map(drop)
            }
            Self::Group(group) => group.scan_streamed::<O, T>(source, elements, kind, sink, settings),
        }
    }

    pub(super) fn matmul<T: Factor>(
        &self,
        factors: [&dyn Source; 2],
        [m, n, k]: [usize; 3],
        sink: &dyn Sink,
        settings: &Settings<'_>,
    ) -> Result<()> {
        match self {
            Self::Device(device) => streamed::matmul::<T>(device, factors, 0..m as u64, [n, k], sink, settings),
            Self::Group(group) => group.matmul_streamed::<T>(factors, [m, n, k], sink, settings),
        }
    }

    /// Largest number of additions in a chain from an element to a result of [`Place::scan`].
    pub(super) fn scan_depth<T: Element>(
        &self,
        source: &dyn Source,
        elements: u64,
        settings: &Settings<'_>,
    ) -> Result<u64> {
        let Some(device) = self.device() else { return Ok(0) };
        let depth = streamed::scan_depth::<T>(device, source, 0..elements, settings)?;
        Ok(match self {
            Self::Device(_) => depth,
            // A rank's result is the sum of its own chain and of those of the ranks before it, which are no longer.
            Self::Group(group) => 2 * depth + group.size() as u64,
        })
    }
}
