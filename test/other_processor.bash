# The processor that this machine isn't, $other, and the emulator of it.
# shellcheck shell=bash disable=SC2034
case $(dpkg --print-architecture) in
  arm64) other=amd64 emulator=qemu-x86_64-static ;;
  *) other=arm64 emulator=qemu-aarch64-static ;;
esac
