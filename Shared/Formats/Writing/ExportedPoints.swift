import Workouts

/// A pass over the rows of series and track, ordered by time; rows of equal time are merged.
///
/// Distance and speed are measured by devices, otherwise by the track.
struct ExportedPoints {
    private var measured: RowReader<Series>
    private var located: RowReader<Track>
    private let isDistanceMeasured: Bool
    /// Those of the current chunk of the series.
    private var columns: [Series.Column] = []
    /// The measured distance so far.
    private var covered = 0.0
    private var nextMeasured: ExportedPoint?
    private var nextLocated: ExportedPoint?

    init(_ series: ChunkedRows<Series>, _ track: ChunkedRows<Track>, isDistanceMeasured: Bool) {
        measured = RowReader(series)
        located = RowReader(track)
        self.isDistanceMeasured = isDistanceMeasured
    }

    /// The next moment; `nil` at the end.
    mutating func next() throws -> ExportedPoint? {
        guard var point = try takeRow() else { return nil }
        while try nextTime() == point.time, let other = try takeRow() { point.fill(from: other) }
        return point
    }

    private mutating func nextTime() throws -> Timestamp? {
        try readAhead()
        return (isLocatedNext ? nextLocated : nextMeasured)?.time
    }

    private mutating func takeRow() throws -> ExportedPoint? {
        try readAhead()
        if isLocatedNext {
            defer { nextLocated = nil }
            return nextLocated
        }
        defer { nextMeasured = nil }
        return nextMeasured
    }

    private var isLocatedNext: Bool {
        guard let nextLocated, let nextMeasured else { return nextMeasured == nil }
        return nextLocated.time < nextMeasured.time
    }

    private mutating func readAhead() throws {
        if nextMeasured == nil, let row = try measured.next() { nextMeasured = point(measured.rows, row) }
        if nextLocated == nil, let row = try located.next() { nextLocated = point(located.rows, row) }
    }

    private mutating func point(_ series: Series?, _ row: Int) -> ExportedPoint? {
        guard let series else { return nil }
        if row == 0 { columns = series.columns.filter { Quantity.recorded.contains($0.quantity) } }
        var point = ExportedPoint(time: series.times[row])
        for column in columns {
            if column.quantity.isList {
                point.values[all: column.quantity] = column[all: row]
            } else if let value = column[row] {
                if column.quantity == .distance { covered += value }
                point[column.quantity] = column.quantity == .distance ? covered : value
            }
        }
        return point
    }

    private func point(_ track: Track?, _ row: Int) -> ExportedPoint? {
        guard let track else { return nil }
        var point = ExportedPoint(time: track.times[row])
        var (latitude, longitude): (Double?, Double?)
        for column in track.columns {
            let value = column[row]
            switch column.kind {
            case .latitude: latitude = value
            case .longitude: longitude = value
            case .altitude: point.altitude = value
            case .distance: if !isDistanceMeasured { point[.distance] = value }
            case .speed: point[.speed] = value
            case .course: point.course = value
            case .horizontalAccuracy: point.horizontalAccuracy = value
            case .verticalAccuracy: break
            }
        }
        if let latitude, let longitude { point.place = Place(la: latitude, lo: longitude) }
        return point
    }
}

/// Rows of series or track, which have the times of their rows.
protocol TimedRows: Sendable {
    var times: [Timestamp] { get }
}

extension Series: TimedRows {}
extension Track: TimedRows {}

/// Reads rows in order, with one chunk in memory.
private struct RowReader<Rows: TimedRows> {
    private let chunks: ChunkedRows<Rows>
    private var number = 0
    private var row = 0
    /// The chunk of the last row.
    private(set) var rows: Rows?

    init(_ chunks: ChunkedRows<Rows>) {
        self.chunks = chunks
    }

    /// The index of the next row in its chunk; `nil` at the end.
    mutating func next() throws -> Int? {
        while row >= rows?.times.count ?? 0 {
            guard number < chunks.count else { return nil }
            rows = try chunks.read(number)
            number += 1
            row = 0
        }
        row += 1
        return row - 1
    }
}
