import CPostgres
import Workouts

/// The rows of one statement, in binary form. It frees them with its last reference.
final class PostgresResult {
    private let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        pq.PQclear(pointer)
    }

    var count: Int { Int(pq.PQntuples(pointer)) }

    func isNull(_ row: Int, _ column: Int) -> Bool { pq.PQgetisnull(pointer, Int32(row), Int32(column)) == 1 }

    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let count = Int(pq.PQgetlength(pointer, Int32(row), Int32(column)))
        return UnsafeRawBufferPointer(start: pq.PQgetvalue(pointer, Int32(row), Int32(column)), count: count)
    }

    func text(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

    /// An integer of any width; zero for null.
    func integer(_ row: Int, _ column: Int) -> Int64 {
        let bytes = bytes(row, column)
        let isNegative = bytes.first.map { $0 & 0x80 != 0 } ?? false
        return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }

    func flag(_ row: Int, _ column: Int) -> Bool { integer(row, column) != 0 }

    func shard(_ row: Int, _ column: Int) -> Shard { Shard(UInt8(truncatingIfNeeded: integer(row, column))) }

    /// The elements of a `smallint[]`.
    func shards(_ row: Int, _ column: Int) -> Set<Shard> {
        let bytes = bytes(row, column)
        // 20 bytes of header, then a length of 4 and a value of 2 each.
        return Set(stride(from: 25, to: bytes.count, by: 6).map { Shard(bytes[$0]) })
    }

    /// All rows of `shard, key, value`.
    var records: [StoreRecord] {
        (0..<count).map { row in
            StoreRecord(shard: shard(row, 0), key: text(row, 1), value: [UInt8](bytes(row, 2)))
        }
    }
}
