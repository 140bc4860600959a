import Bus
package import Storage
import Workouts

/// A computation over all items of a session with many of them. It runs outside of the loop, which receives its end later.
package struct StreamJob<Work: StreamWork>: Sendable {
    enum Purpose: Sendable {
        case fold(shown: Work.Live?)
        case summary
        /// To publish the chunks of the last summary again.
        case chunks
    }

    package struct End: Sendable {
        enum Outcome: Sendable {
            case folded(Work.Live)
            case finished(FinalResults<Work>)
            /// A part of the items is unreadable: the loop reads them.
            case corrupt
            case failed
            /// The track is unreadable, or another route has replaced it.
            case outdated
        }

        let job: StreamJob
        let outcome: Outcome
        /// The streams of all stored items.
        var streams: [Device: StoredStream<Work.Item>] = [:]
        var heard = HeardItems<Work.Item>()
        /// How long the job took.
        package var cost: Duration
    }

    /// Distinguishes the job from others of the process.
    let number: Int
    let key: SessionKey
    let profiled: ProfiledState
    /// The route of a summary.
    let route: StoredRoute?
    let purpose: Purpose
    /// The chunks that the store does not have when the job starts.
    let unsaved: [UnsavedChunk]
    let startedAt: Timestamp

    package func run(_ store: any Store) async -> End {
        let begun = ContinuousClock.now
        do throws(StoreError) {
            let records = try await StoredItems<Work>.records(key, store)
            let input = try await route?.input(key, store)
            guard input != nil || route == nil else {
                return End(job: self, outcome: .outdated, cost: ContinuousClock.now - begun)
            }
            return await onComputingThread { compute(records, input, begun) }
        } catch {
            return End(job: self, outcome: .failed, cost: ContinuousClock.now - begun)
        }
    }

    private func compute(_ records: [StoreRecord], _ input: RouteInput?, _ begun: ContinuousClock.Instant) -> End {
        let stored = StoredItems<Work>(records, unsaved: unsaved)
        var outcome = End.Outcome.corrupt
        if stored.corrupt.isEmpty {
            switch purpose {
            case .fold(let shown):
                outcome = .folded(Work.Live(streams: stored.items, state: profiled, now: startedAt, shown: shown))
            case .summary, .chunks:
                outcome = .finished(FinalResults(stored, of: profiled, with: route, input, now: startedAt))
            }
        }
        return End(
            job: self, outcome: outcome, streams: stored.streams, heard: stored.heard,
            cost: ContinuousClock.now - begun)
    }
}

/// The job of a session.
struct RunningJob<Item: StreamItem> {
    let number: Int
    /// The items that were committed since it began; `nil` unless it computes a fold.
    var missed: [(device: Device, first: Int, items: [Item])]?
}

/// A last chunk whose newest items only the journal has.
struct UnsavedChunk: Sendable {
    let device: Device
    let number: Int
    let bytes: [UInt8]
}

/// All stored items of a session, decoded at each pass.
struct StoredItems<Work: StreamWork> {
    private(set) var items: [Device: ItemSource<Work.Item>] = [:]
    private(set) var streams: [Device: StoredStream<Work.Item>] = [:]
    /// Devices whose items are readable only in part.
    private(set) var corrupt: [Device] = []
    private(set) var heard = HeardItems<Work.Item>()

    static func records(_ key: SessionKey, _ store: any Store) async throws(StoreError) -> [StoreRecord] {
        try await store.records(
            in: StreamStore.chunks, below: [StoreFolder(shard: key.session.shard, path: "\(key)")])
    }

    /// Decodes the chunks of a session.
    ///
    /// - Parameter unsaved: the last chunks, as of this read or earlier.
    init(_ records: [StoreRecord], unsaved: [UnsavedChunk]) {
        var chunks: [Device: [[UInt8]]] = [:]
        for record in records {
            guard let (device, number) = StreamStore.chunk(record.key) else { continue }
            // Keys come in order; a stream has no gaps.
            if number == chunks[device, default: []].count { chunks[device, default: []].append(record.value) }
        }
        for chunk in unsaved {
            let count = chunks[chunk.device, default: []].count
            if chunk.number == count {
                chunks[chunk.device, default: []].append(chunk.bytes)
            } else if chunk.number < count, chunks[chunk.device]?[chunk.number].count ?? 0 < chunk.bytes.count {
                // The store's chunk may be newer: of two the longer one has all items of the other.
                chunks[chunk.device]?[chunk.number] = chunk.bytes
            }
        }
        // Few items stay decoded, so that a fold decodes nothing again.
        let areFew = chunks.values.reduce(0) { $0 + $1.count } <= StreamTimes.decodedChunks
        var decoded: [Device: [[Work.Item]]] = [:]
        var readableCounts: [Device: Int] = [:]
        heard = HeardItems { visit in
            for (device, stored) in chunks {
                for chunk in stored {
                    guard let items = try? ItemChunk<Work.Item>.items(chunk) else { break }
                    readableCounts[device, default: 0] += 1
                    if areFew { decoded[device, default: []].append(items) }
                    for item in items { visit(item) }
                }
            }
        }
        for (device, stored) in chunks {
            let count = readableCounts[device] ?? 0
            if count < stored.count { corrupt.append(device) }
            let readable = stored[..<count]
            let stream = StoredStream<Work.Item>(readable)
            streams[device] = stream
            items[device] = ItemSource(count: stream.next) { [decoded = decoded[device]] body in
                for part in decoded ?? [] {
                    for item in part { body(item) }
                }
                guard decoded == nil else { return }
                for chunk in readable {
                    for item in (try? ItemChunk<Work.Item>.items(chunk)) ?? [] { body(item) }
                }
            }
        }
    }
}

/// The final results of a session, or in progress those until now, and what they are computed from.
struct FinalResults<Work: StreamWork>: Sendable {
    let totals: Work.Totals
    let rows: FinalRows
    /// The revision of the state.
    let state: Int64
    /// The number of items by stream.
    let next: [StreamName: Int]
    let profile: Profile?
    /// The revision of the route.
    let route: Int64?
    let gaps: Silences
    /// The number of items in no segment, of the streams that have such items.
    let outside: [StreamName: Int]

    /// - Parameter now: the end of a segment in progress.
    init(
        _ stored: StoredItems<Work>, of profiled: ProfiledState, with route: StoredRoute?, _ input: RouteInput?,
        now: Timestamp
    ) {
        var state = profiled.state
        if let open = state.segments.last, open.end == nil {
            state.segments[state.segments.count - 1].end = max(open.start, now)
        }
        (totals, rows) = Work.finish(
            stored.items, of: state, with: StreamInputs(profile: profiled.profile, route: input))
        self.state = state.revision
        profile = profiled.profile
        self.route = route?.revision
        gaps = stored.heard.times.silences
        outside = Dictionary(
            uniqueKeysWithValues: stored.items.compactMap { device, items in
                let count = items.count(outside: state.segments)
                return count > 0 ? (StreamName(Work.kind, device), count) : nil
            })
        next = Dictionary(
            uniqueKeysWithValues: stored.streams.compactMap { device, stream in
                stream.next > 0 ? (StreamName(Work.kind, device), stream.next) : nil
            })
    }
}
