import Foundation
import Glibc
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct StoreURLTests {
    @Test func `metrics keep the process' locks on its store`() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("abc", to: "a.sqlite")
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        try #require(fcntl(descriptor, F_SETLK, &lock) == 0)
        #expect(StoreURL.sqlite(path: path).metrics["pacebus_store_bytes"] == 3)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let inode = try #require(attributes[.systemFileNumber] as? NSNumber)
        let locks = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
        #expect(locks.contains(":\(inode) "))
    }
}
